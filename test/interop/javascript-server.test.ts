/** Our client on the server of the official JavaScript SDK. */
import { javascript } from "./javascript/kit.ts";
import { serverSuites } from "./kit-suite.ts";

serverSuites(javascript);
