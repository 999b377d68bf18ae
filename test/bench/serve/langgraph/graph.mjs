import { Annotation, StateGraph } from "@langchain/langgraph";

// Three steps in a row, as the flow beside it has.
const state = Annotation.Root({ text: Annotation({ reducer: (_, b) => b, default: () => "" }) });
const step = () => ({ text: "x" });

export const graph = new StateGraph(state)
  .addNode("a", step).addNode("b", step).addNode("c", step)
  .addEdge("__start__", "a").addEdge("a", "b").addEdge("b", "c").addEdge("c", "__end__")
  .compile();
