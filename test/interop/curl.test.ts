/** curl on our server. */
import { installPackage, mayInstall } from "../apt.ts";
import { findProgram } from "../find-program.ts";
import { clientSuites } from "./kit-suite.ts";
import { curl } from "./shell/kit.ts";

if (findProgram("curl") === undefined && mayInstall()) installPackage("curl");
clientSuites(curl);
