/** Ports that cannot be had. */
import { OptionsError } from "./options.ts";

/** Throws {@link OptionsError} that says which option is to blame for a port that could not be bound. */
export function notBound(option: "grpcPort" | "httpPort" | "opsPort", host: string, port: number): (cause: Error) => never {
  return (cause) => {
    // grpc-js has the system's error in its text only.
    const { message } = cause;
    if (message.includes("EADDRINUSE")) throw new OptionsError(`${option}: ${host}:${port} is in use already`, { cause });
    if (message.includes("EACCES")) throw new OptionsError(`${option}: this process may not listen on port ${port}`, { cause });
    if (/EADDRNOTAVAIL|ENOTFOUND|EAI_AGAIN|resol/i.test(message)) {
      throw new OptionsError(`host: ${host} is no address of this machine`, { cause });
    }
    throw new OptionsError(`${option}: cannot listen on ${host}:${port}: ${message}`, { cause });
  };
}
