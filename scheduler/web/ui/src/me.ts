import { createContext, use } from "react";
import type { Schemas } from "./api/client.ts";

export const MeContext = createContext<Schemas["MeBody"] | null>(null);

/** Returns who is logged in. */
export const useMe = (): Schemas["MeBody"] => use(MeContext)!;

/** Reports whether the caller may do what a scope allows. */
export const hasScope = (me: Schemas["MeBody"], scope: string): boolean =>
  !!me.scopes?.some((one) => one === scope || one === "admin");
