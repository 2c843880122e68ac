/** The client of the official JavaScript SDK on our server. */
import { javascript } from "./javascript/kit.ts";
import { clientSuites } from "./kit-suite.ts";

clientSuites(javascript);
