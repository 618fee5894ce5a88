/** Stock presenters and studios, and where their pictures are. */

import { useQuery } from "@tanstack/react-query";
import { useWorkspace } from "../auth/session";
import { href, request } from "./client";
import type { Avatar, Backdrop, Page } from "./contract";
import { keys } from "./keys";

const FRESH_MS = 10 * 60_000;

export type Shape = "wide" | "tall";

export function useAvatars() {
  const { tenant, path } = useWorkspace();
  return useQuery({
    queryKey: keys.stock(tenant.id, "avatars"),
    queryFn: async () => (await request<Page<Avatar>>(path("/avatars"))).items,
    staleTime: FRESH_MS,
  });
}

export function useBackdrops() {
  const { tenant, path } = useWorkspace();
  return useQuery({
    queryKey: keys.stock(tenant.id, "backdrops"),
    queryFn: async () => (await request<Page<Backdrop>>(path("/backdrops"))).items,
    staleTime: FRESH_MS,
  });
}

/** Addresses of what the browser loads by itself. */
export function usePictures() {
  const { path } = useWorkspace();
  return {
    portrait: (avatar: Avatar) =>
      avatar.has_portrait ? href(path(`/avatars/${avatar.id}/portrait`), { v: avatar.version }) : null,
    pack: (avatar: Avatar) => href(path(`/avatars/${avatar.id}/pack`)),
    backdrop: (id: string, shape: Shape) => href(path(`/backdrops/${id}/picture`), { shape }),
  };
}
