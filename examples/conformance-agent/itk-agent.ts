/** The agent of the traversal suite: its messages carry instructions, and an instruction may be to call another agent with one. */
import { setTimeout as sleep } from "node:timers/promises";
import { fromBinary } from "@bufbuild/protobuf";
import { type Agent, completed, failed, type Message, type Part, working } from "../../src/index.ts";
import { type Instruction, InstructionSchema } from "../../test/gen/itk_pb.ts";
import { callAgent, FINISHED, INSTRUCTION_TYPE } from "./itk-call.ts";

/** How often a task that is held says all again, and how many times: whoever subscribes late hears it too. */
const HOLD_STEP_MS = 2000;
const HOLD_STEPS = 5;

/** Does what its instruction says, and completes with the texts that came of it, a line each. Fails where there is trouble, and says which. */
export const itkAgent: Agent = {
  card: {
    name: "Traversal agent",
    description: "Does what an instruction says, calls to other agents among it, for the traversal suite.",
    version: "1.0.0",
    defaultInputModes: ["text/plain", INSTRUCTION_TYPE],
    defaultOutputModes: ["text/plain"],
    skills: [
      {
        id: "traversal",
        name: "Traversal",
        description: `Takes an Instruction of the suite's proto, as bytes (${INSTRUCTION_TYPE}) or as text in base64.`,
        tags: ["conformance", "test"],
      },
    ],
  },
  async *run({ message, signal }) {
    const instruction = instructionOf(message);
    if (instruction === undefined) {
      yield failed("there is no instruction in the message");
      return;
    }
    yield working();
    let text: string;
    try {
      text = (await carryOut(instruction, signal)).join("\n");
    } catch (error) {
      signal.throwIfAborted();
      yield failed(error instanceof Error ? error.message : String(error));
      return;
    }
    for (let step = 0; holds(instruction) && step < HOLD_STEPS; step += 1) {
      yield working(`${text}\n${FINISHED}`);
      await sleep(HOLD_STEP_MS, undefined, { signal });
    }
    yield completed(text);
  },
};

/** What an instruction makes of itself, text by text. */
async function carryOut({ step }: Instruction, signal: AbortSignal): Promise<readonly string[]> {
  switch (step.case) {
    case "returnResponse":
      return [step.value.response];
    case "callAgent":
      return callAgent(step.value, signal);
    case "steps": {
      const texts: string[] = [];
      for (const one of step.value.instructions) texts.push(...(await carryOut(one, signal)));
      return texts;
    }
    default:
      throw new Error("an instruction is to call an agent, to return a response, or a series of steps");
  }
}

/** Whether the task is to be held; what another agent is told does not count here. */
function holds({ step }: Instruction): boolean {
  if (step.case === "returnResponse") return step.value.holdTask;
  return step.case === "steps" && step.value.instructions.some(holds);
}

/** The first part that is an instruction. */
function instructionOf({ parts }: Message): Instruction | undefined {
  return parts.map(readInstruction).find((instruction) => instruction?.step.case !== undefined);
}

function readInstruction({ content }: Part): Instruction | undefined {
  const bytes = content.case === "raw" ? content.value : content.case === "text" ? Buffer.from(content.value, "base64") : undefined;
  try {
    return bytes && fromBinary(InstructionSchema, bytes);
  } catch {
    return undefined;
  }
}
