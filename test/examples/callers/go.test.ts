import { testCaller } from "./caller-suite.ts";
import { GO } from "./toolchains.ts";

testCaller(GO);
