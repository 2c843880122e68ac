/** Runs `work` again and again, `workers` at once, for `ms` milliseconds or `max` times; answers how often. The first error ends it. */
export async function repeat(
  { workers, ms, max = Infinity }: { readonly workers: number; readonly ms: number; readonly max?: number },
  work: () => Promise<void>,
): Promise<number> {
  const until = performance.now() + ms;
  let begun = 0;
  let failed = false;
  const worker = async (): Promise<void> => {
    while (!failed && begun < max && performance.now() < until) {
      begun++;
      try {
        await work();
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: workers }, worker));
  return begun;
}
