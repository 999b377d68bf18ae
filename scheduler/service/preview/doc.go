// Package preview renders the prompt of one step of a flow that is being edited. No model is asked, nothing is written, and
// no call runs that reaches beyond the flow: [Render] takes the outputs of such steps from an earlier run or a test ([Values]), and a
// placeholder for values that neither has, for example ‹recall.relevant_memories[0].content›.
//
// The steps before the one that is shown, such as context and template, do run, with the words of the edited flow. The run stops
// when the step is about to ask its model; package explain then gives the origin of each piece of the messages.
package preview
