import { shortRun } from "./short-run.ts";

shortRun(
  "one Redis, with this project's client on ways that are cut",
  "--clients ours --seed 4 --tasks 60 --cuts 25 --fault-every 0.6 --replicas 3",
);
