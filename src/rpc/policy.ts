/** Policy around the service: who may call, in which version, with which extensions. Every binding gets it identically. */
import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Authenticate } from "./auth/authenticate.ts";
import { checkBinaryInput } from "./binary-input.ts";
import { extensionsKey, principalKey } from "./call-facts.ts";
import { connectError, withOlderCodes } from "./errors.ts";
import { activeExtensions, EXTENSIONS_HEADER, requestedExtensions } from "./extensions.ts";
import { lazyStream } from "./lazy-stream.ts";
import { applyTenant } from "./tenant.ts";
import { checkVersion } from "./version.ts";

/** What policy is made of. */
export interface PolicyOptions {
  readonly authenticate: Authenticate;
  readonly card: AgentCard;
  /** Whose error codes are used: those of A2A 1.0.1, or of 1.0.0 (C-06). */
  readonly errorCodes: "1.0.1" | "1.0.0";
  /** Version assumed where a call names none. Default: none, so that such a call is refused (C-11). */
  readonly assumeVersion: string | undefined;
}

/** A service behind its policy. */
export interface GuardedService<S extends DescService> {
  readonly desc: S;
  readonly impl: ServiceImpl<S>;
  /**
   * Authenticates a call by its headers alone. A binding calls it before it reads the body, so that a stranger learns nothing of how
   * bodies are judged; a method calls it for the binding that did not.
   */
  readonly admit: (context: HandlerContext) => Promise<void>;
  /**
   * Checks version and extensions. A binding that reads ProtoJSON calls it before it judges the fields: what they mean hangs on the
   * version. A method calls it for the binding that did not.
   */
  readonly agree: (context: HandlerContext) => void;
}

type Method = (request: Message, context: HandlerContext) => unknown;

/** Wraps an implementation. The order is authenticate, version, extensions; then the method with its own checks (requirements 1.7). */
export function guard<S extends DescService>(desc: S, impl: ServiceImpl<S>, options: PolicyOptions): GuardedService<S> {
  const admit = async (context: HandlerContext): Promise<void> => {
    if (context.values.get(principalKey) !== undefined) return;
    const verdict = await options.authenticate(context.requestHeader);
    if ("challenge" in verdict) {
      context.responseHeader.set("www-authenticate", verdict.challenge);
      throw connectError("UNAUTHENTICATED", verdict.message);
    }
    context.values.set(principalKey, verdict);
  };
  const agreed = new WeakSet<HandlerContext>();
  const agree = (context: HandlerContext): void => {
    if (agreed.has(context)) return;
    checkVersion(context.requestHeader, context.url, options.assumeVersion);
    const active = activeExtensions(options.card, requestedExtensions(context.requestHeader));
    agreed.add(context);
    if (active.size === 0) return;
    context.values.set(extensionsKey, active);
    context.responseHeader.set(EXTENSIONS_HEADER, [...active].join(", "));
  };
  const before = async (context: HandlerContext): Promise<void> => {
    await admit(context);
    agree(context);
  };
  const methods = impl as Record<string, Method>;
  const guarded = Object.fromEntries(desc.methods.map((method) => [method.localName, guardMethod(method, methods, before)]));
  if (options.errorCodes === "1.0.1") return { desc, impl: guarded as ServiceImpl<S>, admit, agree };
  const recoded = Object.fromEntries(desc.methods.map((method) => [method.localName, recode(method, guarded)]));
  return { desc, impl: recoded as ServiceImpl<S>, admit, agree: (context) => withCodes(() => agree(context)) };
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
    applyTenant(request, context.requestHeader);
    return methods[method.localName]?.(request, context);
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
