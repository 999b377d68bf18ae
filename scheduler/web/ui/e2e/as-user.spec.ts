import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "./fixtures.ts";

const whose = `name: whose
inputs: {type: object, required: [question], properties: {question: {type: string}}}
memory: {user: "{{ run.user or 'nobody' }}"}
steps: [{id: say, call: template, with: {template: "{{ whose }} asks {{ words }}", values: {whose: "{{ run.user or 'nobody' }}", words: "{{ inputs.question }}"}}, to_user: true}]
outputs: {reply: "{{ say.text }}"}
`;

test("whoever belongs to no user runs and chats as one, which the page remembers and the audit names", async ({ page }) => {
  writeFileSync(join(process.env.SCHEDULER_DIR!, "flows", "whose.yaml"), whose);
  await page.goto("/flows/whose?tab=run");
  await page.getByLabel("question").fill("why");
  await page.getByLabel("As user").fill("lin");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page).toHaveURL(/\/runs\//);
  await expect(page.locator(".step-panel")).toContainText("lin asks why");
  const run = page.url().split("/").pop()!.split("?")[0]!;

  await page.goto("/chat/whose?session=as-1");
  await expect(page.getByLabel("As user")).toHaveValue("lin");
  await page.getByRole("textbox", { name: "Your question" }).fill("when");
  await page.keyboard.press("Enter");
  await expect(page.locator(".talk .turn").last()).toContainText("lin asks when");
  await page.getByLabel("As user").fill("bo");
  await page.keyboard.press("Enter");
  await expect(page.locator(".talk .turn")).toHaveCount(0); // what lin has said is not shown for bo
  await page.getByRole("textbox", { name: "Your question" }).fill("who");
  await page.keyboard.press("Enter");
  await expect(page.locator(".talk .turn").last()).toContainText("bo asks who");

  await expect.poll(async () => JSON.stringify(await (await page.request.get("/api/v1/audit?limit=100")).json())).toMatch(new RegExp(`"user":"lin"[^{}]*"run":"${run}"`));
});
