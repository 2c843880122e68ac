/** Starting several servers at once. */

/** Resolves when all have started; where one fails, the others are ended and its error is thrown. */
export async function startAll<T extends AsyncDisposable>(starts: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(starts);
  const failed = results.find((result) => result.status === "rejected");
  const started = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  if (failed === undefined) return started;
  await endAll(started);
  throw failed.reason;
}

/** Ends them, all at once. */
export async function endAll(servers: Iterable<AsyncDisposable>): Promise<void> {
  await Promise.all([...servers].map(async (server) => server[Symbol.asyncDispose]()));
}
