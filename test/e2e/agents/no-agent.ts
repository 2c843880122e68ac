/** A module that is no agent. */
export default { card: null, run: (): void => undefined };
