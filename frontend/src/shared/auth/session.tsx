/** Who is signed in, in which tenant, and what they may do there. The server decides; the console only hides. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, use, useCallback, useMemo, useState } from "react";
import { rememberCsrf, request } from "../api/client";
import type { AuthSession, Membership, Tenant } from "../api/contract";
import { keys } from "../api/keys";

const LAST_TENANT = "lumihost.tenant";

export async function loadSession(): Promise<AuthSession> {
  const session = await request<AuthSession>("/auth/session");
  rememberCsrf(session.csrf_token);
  return session;
}

export function useAuthSession() {
  return useQuery({ queryKey: keys.auth, queryFn: loadSession, staleTime: 5 * 60_000, refetchOnWindowFocus: true });
}

export function useSignIn() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (credentials: { email: string; password: string }) => {
      const session = await request<AuthSession>("/auth/login", { method: "POST", json: credentials });
      rememberCsrf(session.csrf_token);
      return session;
    },
    onSuccess: (session) => client.setQueryData(keys.auth, session),
  });
}

export function useSignOut() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => request<AuthSession>("/auth/logout", { method: "POST" }),
    onSuccess: (session) => {
      rememberCsrf(session.csrf_token);
      client.removeQueries({ queryKey: ["t"] });
      client.setQueryData(keys.auth, session);
    },
  });
}

export interface Workspace {
  user: NonNullable<AuthSession["user"]>;
  tenant: Tenant;
  role: string;
  memberships: readonly Membership[];
  /** Whether the role holds a permission such as `products:write`. */
  can: (permission: string) => boolean;
  switchTenant: (id: string) => void;
  /** API path below the tenant, e.g. `path("/products")`. */
  path: (below: string) => string;
}

const WorkspaceContext = createContext<Workspace | null>(null);

export function useWorkspace(): Workspace {
  const workspace = use(WorkspaceContext);
  if (!workspace) throw new Error("useWorkspace outside a signed-in page");
  return workspace;
}

function lastTenant(): string {
  try {
    return localStorage.getItem(LAST_TENANT) ?? "";
  } catch {
    return "";
  }
}

export function WorkspaceProvider({
  session,
  membership,
  children,
}: {
  session: AuthSession;
  membership: Membership;
  children: ReactNode;
}) {
  const [chosen, setChosen] = useState(lastTenant);
  const current = session.memberships.find((m) => m.tenant.id === chosen) ?? membership;
  const switchTenant = useCallback((id: string) => {
    setChosen(id);
    try {
      localStorage.setItem(LAST_TENANT, id);
    } catch {
      // Private windows may refuse storage; the choice then lasts as long as the page.
    }
  }, []);
  const workspace = useMemo<Workspace | null>(() => {
    if (!session.user) return null;
    const granted = new Set(current.permissions);
    return {
      user: session.user,
      tenant: current.tenant,
      role: current.role,
      memberships: session.memberships,
      can: (permission) => granted.has(permission),
      switchTenant,
      path: (below) => `/tenants/${encodeURIComponent(current.tenant.id)}${below}`,
    };
  }, [session, current, switchTenant]);
  return <WorkspaceContext value={workspace}>{children}</WorkspaceContext>;
}
