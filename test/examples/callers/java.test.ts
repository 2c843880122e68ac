import { testCaller } from "./caller-suite.ts";
import { JAVA } from "./toolchains.ts";

testCaller(JAVA);
