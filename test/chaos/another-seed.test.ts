import { shortRun } from "./short-run.ts";

shortRun("one Redis, another seed", "--store single --seed 3 --minutes 0.4 --fault-every 1.5 --replicas 3");
