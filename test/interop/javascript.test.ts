/** The official JavaScript SDK, both ways. */
import { javascript } from "./javascript/kit.ts";
import { kitSuite } from "./kit-suite.ts";

kitSuite(javascript);
