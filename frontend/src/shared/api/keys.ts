/** Query keys: everything of a tenant is under its id, so that a switch of tenants never shows another's data. */

export const keys = {
  auth: ["auth"] as const,
  all: (tenant: string) => ["t", tenant] as const,
  products: (tenant: string, filter: Record<string, string> = {}) => ["t", tenant, "products", filter] as const,
  imports: (tenant: string) => ["t", tenant, "imports"] as const,
  faq: (tenant: string) => ["t", tenant, "faq"] as const,
  shows: (tenant: string) => ["t", tenant, "shows"] as const,
  show: (tenant: string, id: string) => ["t", tenant, "shows", id] as const,
  channels: (tenant: string) => ["t", tenant, "channels"] as const,
  channelParts: (tenant: string, channel: string, part: "destinations" | "sources") =>
    ["t", tenant, "channels", channel, part] as const,
  sessions: (tenant: string) => ["t", tenant, "sessions"] as const,
  session: (tenant: string, id: string) => ["t", tenant, "sessions", id] as const,
  recordings: (tenant: string, id: string) => ["t", tenant, "sessions", id, "recordings"] as const,
  stock: (tenant: string, what: "avatars" | "voices" | "backdrops") => ["t", tenant, what] as const,
  pack: (tenant: string, id: string, version: string) => ["t", tenant, "avatars", id, version] as const,
};
