import type { APIRequestContext } from "@playwright/test";
import type { Schemas } from "../src/api/client.ts";
import { addEvent, newRunState, orderedSteps, type RunEvent, type RunState } from "../src/run/state.ts";
import { expect, startRun, test } from "./fixtures.ts";

/** Reads all events of a run in the view that the page gets. */
async function readEvents(request: APIRequestContext, run: string): Promise<RunEvent[]> {
  const all: RunEvent[] = [];
  for (let cursor = ""; ;) {
    const page = await (await request.get(`/api/v1/runs/${run}/events?view=state&limit=200&cursor=${cursor}`)).json() as { items: RunEvent[]; next: string | null };
    all.push(...page.items);
    if (!page.next) return all;
    cursor = page.next;
  }
}

/** A step of the page as the server writes it. */
function asServer(s: RunState, id: string): unknown {
  const st = s.steps.get(id);
  if (!st) return undefined;
  const { call, state, attempts, duration_ms, usage, error, reason, items } = st;
  return clean({ id, call, state, attempts, duration_ms, usage, error, reason, items: items.length ? items.map((item) => asServer(s, item)) : undefined });
}

const clean = (v: unknown): unknown => JSON.parse(JSON.stringify(v ?? null));

/** Holds the state that the page has of a run to that of the server. */
async function expectSameFold(request: APIRequestContext, run: string): Promise<Schemas["RunBody"]> {
  const body = await (await request.get(`/api/v1/runs/${run}`)).json() as Schemas["RunBody"] & { warnings?: unknown[] };
  const events = await readEvents(request, run);
  const s = newRunState();
  for (const e of events.filter((e) => e.seq <= body.last_seq)) addEvent(s, e);
  const steps = orderedSteps(s, body.steps ?? []).map((st) => asServer(s, st.id) ?? clean({ id: st.id, call: st.call, state: st.state, attempts: 0, duration_ms: 0, usage: st.usage }));
  expect(steps).toEqual(body.steps);
  expect({ state: s.state, usage: s.usage, lastSeq: s.lastSeq }).toEqual({ state: body.state, usage: body.usage, lastSeq: body.last_seq });
  expect(clean([s.outputs, s.error, s.reply, s.warnings])).toEqual(clean([body.outputs, body.error, body.reply, body.warnings ?? []]));
  const short = (list: Schemas["WaitingFor"][] | null) => (list ?? []).map((w) => ({ step: w.step, schema: w.remaining_schema }));
  expect(short(s.waiting)).toEqual(short(body.waiting));
  return body;
}

test("the page has a run as the server has it, for runs of every kind", async ({ page }) => {
  const request = page.request;
  for (const flow of ["quickstart", "support", "roleplay", "summarise", "failing", "wide"]) {
    await expectSameFold(request, await startRun(page, flow));
  }
});

test("the page and the server have the same while a run goes on, waits, is cancelled and goes on again", async ({ page }) => {
  const request = page.request;
  const slow = ((await (await request.post("/api/v1/runs", { data: { flow: "slow" } })).json()) as { run: string }).run;
  for (let i = 0; i < 4; i++) {
    await page.waitForTimeout(300);
    await expectSameFold(request, slow);
  }
  expect((await request.post(`/api/v1/runs/${slow}/cancel`)).status()).toBe(202);
  await expect.poll(async () => (await expectSameFold(request, slow)).state).toBe("cancelled");
  expect((await request.post(`/api/v1/runs/${slow}/resume`, { data: {} })).status()).toBe(202);
  await expect.poll(async () => (await expectSameFold(request, slow)).state).toBe("finished");

  const weather = await startRun(page, "weather");
  await expect.poll(async () => (await expectSameFold(request, weather)).state).toBe("waiting");
  expect((await request.post(`/api/v1/runs/${weather}/answers`, { data: { answers: [{ step: "place", pointer: "/city", value: "Hangzhou" }] } })).status()).toBe(202);
  await page.waitForTimeout(500);
  await expectSameFold(request, weather);
});
