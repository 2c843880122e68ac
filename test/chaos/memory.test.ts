import { shortRun } from "./short-run.ts";

shortRun("the memory store, which several replicas of one process share", "--store memory --seed 1 --minutes 0.1 --fault-every 0.5");
