import type { ForeignKit } from "../foreign-kit.ts";

export const java: ForeignKit = {
  name: "java",
  title: "Java",
  needs: [
    { program: "java", install: "apt-get install openjdk-17-jdk-headless" },
    { program: "mvn", install: "apt-get install maven" },
  ],
  build: () => Promise.resolve(),
  servers: () => [],
  clients: () => [],
};
