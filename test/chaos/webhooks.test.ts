import { shortRun } from "./short-run.ts";

shortRun("one Redis, with webhooks", "--webhooks --seed 2 --minutes 0.4 --fault-every 1.5 --replicas 3");
