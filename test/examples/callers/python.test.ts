import { testCaller } from "./caller-suite.ts";
import { PYTHON } from "./toolchains.ts";

testCaller(PYTHON);
