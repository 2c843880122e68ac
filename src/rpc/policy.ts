/** Policy around the service: who may call what, in which version, with which extensions. Every binding gets it identically. */
import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import { createContextKey, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Authenticate, Authorize } from "./auth/authenticate.ts";
import { checkBinaryInput } from "./binary-input.ts";
import type { CallLimits } from "./call-limits.ts";
import { certificateKey, extensionsKey, principalKey, principalOf } from "./call-facts.ts";
import { type CallObserver, observedKey } from "./call-observer.ts";
import { connectError, withOlderCodes } from "./errors.ts";
import { activeExtensions, EXTENSIONS_HEADER, requestedExtensions } from "./extensions.ts";
import { lazyStream } from "./lazy-stream.ts";
import { applyTenant } from "./tenant.ts";
import { checkVersion } from "./version.ts";

/** What policy is made of. */
export interface PolicyOptions {
  readonly authenticate: Authenticate;
  /** Default: who is let in may call everything. */
  readonly authorize?: Authorize | undefined;
  /** Default: callers are bounded by nothing. */
  readonly limits?: CallLimits | undefined;
  readonly card: AgentCard;
  /** Whose error codes are used: those of A2A 1.0.1, or of 1.0.0 (C-06). */
  readonly errorCodes: "1.0.1" | "1.0.0";
  /** Version assumed where a call names none. Default: none, so that such a call is refused (C-11). */
  readonly assumeVersion: string | undefined;
  /** Told of every call. Default: nobody is. */
  readonly observer?: CallObserver | undefined;
}

/** A service behind its policy. */
export interface GuardedService<S extends DescService> {
  readonly desc: S;
  readonly impl: ServiceImpl<S>;
  /** Told of every call by the binding that it comes over. */
  readonly observer: CallObserver | undefined;
  /**
   * Finds out who calls, by the headers alone. A binding whose body names the method calls it before it reads that, so that a stranger
   * learns nothing of how bodies are judged.
   */
  readonly authenticate: (context: HandlerContext) => Promise<void>;
  /**
   * Authenticates a call, where that was not done yet, and judges whether its principal may call the method, and now. A binding calls it before it
   * reads the request; a method calls it for the binding that did not.
   */
  readonly admit: (context: HandlerContext) => Promise<void>;
  /**
   * Checks version and extensions. A binding that reads ProtoJSON calls it before it judges the fields: what they mean hangs on the
   * version. A method calls it for the binding that did not.
   */
  readonly agree: (context: HandlerContext) => void;
}

/** Which steps of the policy a call has passed. */
const admittedKey = createContextKey(false, { description: "admitted" });
const agreedKey = createContextKey(false, { description: "version and extensions agreed" });

type Method = (request: Message, context: HandlerContext) => unknown;

/** Wraps an implementation. The order is authenticate, authorize, limits, version, extensions; then the method with its own checks (requirements 1.7). */
export function guard<S extends DescService>(desc: S, impl: ServiceImpl<S>, options: PolicyOptions): GuardedService<S> {
  const authenticate = async (context: HandlerContext): Promise<void> => {
    if (context.values.get(principalKey) !== undefined) return;
    const { requestHeader, url, values } = context;
    const verdict = await options.authenticate(requestHeader, { url, certificate: values.get(certificateKey) });
    if ("challenge" in verdict) {
      challenge(context, verdict.challenge);
      throw connectError("UNAUTHENTICATED", verdict.message);
    }
    values.set(principalKey, verdict);
    values.get(observedKey)?.by(verdict.name);
  };
  const admit = async (context: HandlerContext): Promise<void> => {
    if (context.values.get(admittedKey)) return;
    await authenticate(context);
    const denial = await options.authorize?.(principalOf(context), context.method.name);
    if (denial !== undefined) {
      if (denial.challenge !== undefined) challenge(context, denial.challenge);
      const metadata = { operation: context.method.name, ...(denial.scopes && { missingScopes: denial.scopes.join(" ") }) };
      throw connectError("PERMISSION_DENIED", denial.message, { metadata });
    }
    await options.limits?.count(context);
    context.values.set(admittedKey, true);
  };
  const agree = (context: HandlerContext): void => {
    if (context.values.get(agreedKey)) return;
    checkVersion(context.requestHeader, context.url, options.assumeVersion);
    const active = activeExtensions(options.card, requestedExtensions(context.requestHeader));
    context.values.set(agreedKey, true);
    if (active.size === 0) return;
    context.values.set(extensionsKey, active);
    context.responseHeader.set(EXTENSIONS_HEADER, [...active].join(", "));
  };
  const before = async (context: HandlerContext): Promise<void> => {
    await admit(context);
    options.limits?.enter(context);
    agree(context);
  };
  const methods = impl as Record<string, Method>;
  const guarded = Object.fromEntries(desc.methods.map((method) => [method.localName, guardMethod(method, methods, before)]));
  const { observer } = options;
  if (options.errorCodes === "1.0.1") return { desc, impl: guarded as ServiceImpl<S>, observer, authenticate, admit, agree };
  const recoded = Object.fromEntries(desc.methods.map((method) => [method.localName, recode(method, guarded)]));
  return { desc, impl: recoded as ServiceImpl<S>, observer, authenticate, admit, agree: (context) => withCodes(() => agree(context)) };
}

function challenge({ responseHeader }: HandlerContext, challenges: string | readonly string[]): void {
  for (const one of [challenges].flat()) responseHeader.append("www-authenticate", one);
}

/** A method whose errors have the older codes. */
function recode(method: DescMethod, methods: Record<string, Method>): Method {
  const call: Method = (request, context) => methods[method.localName]?.(request, context);
  if (method.methodKind !== "server_streaming") return (request, context) => (call(request, context) as Promise<unknown>).catch(throwOlder);
  return (request, context) =>
    lazyStream(async () => {
      const frames = (call(request, context) as AsyncIterable<unknown>)[Symbol.asyncIterator]() as AsyncIterator<unknown, undefined>;
      return {
        next: () => frames.next().catch(throwOlder),
        return: () => frames.return?.() ?? Promise.resolve({ done: true, value: undefined }),
      };
    });
}

function withCodes(step: () => void): void {
  try {
    step();
  } catch (error) {
    throwOlder(error);
  }
}

function throwOlder(error: unknown): never {
  throw withOlderCodes(error);
}

function guardMethod(method: DescMethod, methods: Record<string, Method>, before: (context: HandlerContext) => Promise<void>): Method {
  // Called as a member: implementations may be classes.
  const call = (request: Message, context: HandlerContext): unknown => {
    checkBinaryInput(method.input, request);
    applyTenant(request, context.requestHeader, principalOf(context));
    const run = (): unknown => methods[method.localName]?.(request, context);
    const observed = context.values.get(observedKey);
    return observed === undefined ? run() : observed.run(run);
  };
  if (method.methodKind === "server_streaming") {
    return (request, context) =>
      lazyStream(async () => {
        await before(context);
        return (call(request, context) as AsyncIterable<unknown>)[Symbol.asyncIterator]();
      });
  }
  return async (request, context) => {
    await before(context);
    return call(request, context);
  };
}
