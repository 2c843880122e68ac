/** Lets everybody in under one name: the default. All callers share their tasks. */
import type { Authenticate, Principal } from "./authenticate.ts";

/** Who calls where callers are not told apart. */
export const ANONYMOUS_PRINCIPAL: Principal = { name: "anonymous" };

/** Answers {@link ANONYMOUS_PRINCIPAL}. */
export const anonymous: Authenticate = () => ANONYMOUS_PRINCIPAL;
