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
    errorElement: <RouteFailed />,
    children: [
      { index: true, element: <Navigate to="/live" replace /> },
      { path: "live", ...page(() => import("./features/live/LivePage")) },
      { path: "live/:sessionId", ...page(() => import("./features/live/RoomPage")) },
      { path: "*", element: <NotFound /> },
    ],
  },
];

export function createRouter() {
  return createBrowserRouter(routes);
}
