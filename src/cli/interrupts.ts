/** Ctrl-C while a task is waited for. */

/** How long a second Ctrl-C is waited for: two seconds, unless the environment says otherwise. */
const AGAIN_MS = Number(process.env["THROUGHLINE_CTRL_C_MS"]) || 2000;

/** What is done at each. */
export interface Interrupted {
  /** At once after the first: says what comes, in how many milliseconds. */
  readonly hint: (ms: number) => void;
  /** When no second one came in time, and after the third. */
  readonly leave: () => void;
  /** At the second. */
  readonly cancel: () => void;
}

/** What is pressed once more while the command ends does not end it by the signal: it has an exit code to tell, as soon as that is known. */
function late(): void {
  if (process.exitCode !== undefined) process.exit();
}

/** The first Ctrl-C leaves the task after a moment, a second one in that moment cancels it, a third leaves it at once. */
export function onInterrupts({ hint, leave, cancel }: Interrupted): Disposable {
  let count = 0;
  let timer: NodeJS.Timeout | undefined;
  const interrupted = (): void => {
    count += 1;
    clearTimeout(timer);
    if (count > 2) return leave();
    if (count === 2) return cancel();
    timer = setTimeout(() => {
      count = 2;
      leave();
    }, AGAIN_MS);
    hint(AGAIN_MS);
  };
  process.on("SIGINT", interrupted);
  return {
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      process.off("SIGINT", interrupted);
      process.on("SIGINT", late);
    },
  };
}
