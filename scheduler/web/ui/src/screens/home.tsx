import { Redirect } from "wouter";
import { api, type Schemas } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { Loading } from "../components/common.tsx";
import { hasScope, useMe } from "../me.ts";

/** Home leads to the flows; in a project in which nothing has run yet, to the form that runs the first flow. */
export default function Home() {
  const me = useMe();
  const first = useLoad((signal) => firstFlow(hasScope(me, "runs:write") && hasScope(me, "runs:read"), signal), []);
  if (first.loading) return <Loading />;
  return <Redirect to={first.data ? `/flows/${first.data.flow}?tab=run` : "/flows"} replace />;
}

/** Returns the flow to begin with: hello, which a new project has, else the only one; none where there are runs. */
async function firstFlow(canRun: boolean, signal: AbortSignal): Promise<Schemas["FlowItem"] | undefined> {
  if (!canRun) return undefined;
  const [runs, flows] = await Promise.all([api.get("/api/v1/runs", { query: { limit: 1 }, signal }), api.get("/api/v1/flows", { query: { limit: 200 }, signal })]);
  if (runs.items.length) return undefined;
  const good = flows.items.filter((f) => !f.errors);
  return good.find((f) => f.flow === "hello") ?? (good.length === 1 ? good[0] : undefined);
}
