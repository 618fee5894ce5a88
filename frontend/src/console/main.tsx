import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { RouterProvider } from "react-router";
import { keys } from "../shared/api/keys";
import { Problem } from "../shared/api/problems";
import { startI18n } from "../shared/i18n";
import { pageConfig } from "../shared/page";
import "../shared/ui/app.css";
import icon from "../shared/ui/icon.svg";
import { stampStyles } from "../shared/ui/nonce";
import { ThemeProvider } from "../shared/ui/theme";
import { createRouter } from "./routes";

/** A session that has ended shows the sign-in form over the same address; what is on the air goes on. */
function onError(error: Error): void {
  if (error instanceof Problem && error.status === 401) void client.invalidateQueries({ queryKey: keys.auth });
}

const client = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      retry: (failures, error) => failures < 3 && error instanceof Problem && error.passing,
    },
  },
});

stampStyles(pageConfig().nonce);
startI18n();
const link = document.createElement("link");
link.rel = "icon";
link.href = icon;
document.head.append(link);
const root = document.getElementById("root");
if (!root) throw new Error("the page has no #root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <ThemeProvider>
        <RouterProvider router={createRouter()} />
      </ThemeProvider>
    </QueryClientProvider>
  </StrictMode>,
);
