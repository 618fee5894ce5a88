import { createBrowserRouter, Navigate, type RouteObject } from "react-router";
import { Gate } from "./Gate";
import { NotFound } from "./NotFound";
import { RouteFailed } from "./RouteFailed";

/** Pages are loaded when first opened. */
const page = (load: () => Promise<{ default: React.ComponentType }>): Pick<RouteObject, "lazy"> => ({
  lazy: async () => ({ Component: (await load()).default }),
});

export const routes: RouteObject[] = [
  {
    path: "/",
    Component: Gate,
    // Until the first page's code is there the document stays empty, as it is before any script has run.
    HydrateFallback: () => null,
    errorElement: <RouteFailed />,
    children: [
      { index: true, element: <Navigate to="/live" replace /> },
      { path: "live", ...page(() => import("./features/live/LivePage")) },
      { path: "live/:sessionId", ...page(() => import("./features/live/RoomPage")) },
      { path: "products", ...page(() => import("./features/products/ProductsPage")) },
      { path: "products/import", ...page(() => import("./features/products/ImportPage")) },
      { path: "faq", ...page(() => import("./features/faq/FaqPage")) },
      { path: "shows", ...page(() => import("./features/shows/ShowsPage")) },
      { path: "shows/:showId", ...page(() => import("./features/shows/ShowPage")) },
      { path: "presenters/:avatarId?", ...page(() => import("./features/presenters/PresentersPage")) },
      { path: "channels", ...page(() => import("./features/channels/ChannelsPage")) },
      { path: "sessions", ...page(() => import("./features/sessions/SessionsPage")) },
      { path: "sessions/:sessionId", ...page(() => import("./features/sessions/SessionPage")) },
      { path: "*", element: <NotFound /> },
    ],
  },
];

export function createRouter() {
  return createBrowserRouter(routes);
}
