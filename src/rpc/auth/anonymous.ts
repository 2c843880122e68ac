/** Lets everybody in under one name: the default. All callers share their tasks. */
import type { Authenticate } from "./authenticate.ts";

const EVERYBODY = { name: "anonymous" };

/** Answers the principal `anonymous`. */
export const anonymous: Authenticate = () => EVERYBODY;
