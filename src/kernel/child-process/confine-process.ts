/**
 * Takes from this process what a parser of foreign files has no use for. The permission model (see `start-child.ts`)
 * denies files, programs, addons and the inspector; Node 24 has no such switch for the network, so that what leads there
 * is refused here. This stops what a library does when a document asks it to; it is no wall against machine code that a
 * fault of the engine lets in, against which the process has neither secrets in its environment nor files to write.
 */
import { registerHooks } from 'node:module';
import { Server, Socket } from 'node:net';

const REFUSED_MODULES: ReadonlySet<string> = new Set([
  'child_process',
  'cluster',
  'dgram',
  'dns',
  'dns/promises',
  'http',
  'http2',
  'https',
  'inspector',
  'inspector/promises',
  'net',
  'quic',
  'repl',
  'sqlite',
  'tls',
  'wasi',
  'worker_threads',
]);

const REFUSED_GLOBALS = ['fetch', 'WebSocket', 'EventSource'] as const;
const REFUSED_METHODS = ['binding', '_linkedBinding', 'dlopen', 'kill', '_debugProcess', 'execve'] as const;

/** Call it once everything of this process's own is loaded. */
export function confineProcess(): void {
  registerHooks({
    resolve(specifier, context, next) {
      refuseModule(specifier);
      return next(specifier, context);
    },
  });
  for (const name of REFUSED_GLOBALS) Reflect.deleteProperty(globalThis, name);
  for (const name of REFUSED_METHODS) replace(process, name, () => refuse(`process.${name}`));
  const getBuiltin = process.getBuiltinModule.bind(process);
  replace(process, 'getBuiltinModule', (id: string) => {
    refuseModule(id);
    return getBuiltin(id);
  });
  // Sockets that are open already lead to their class.
  replace(Socket.prototype, 'connect', () => refuse('a connection'));
  replace(Server.prototype, 'listen', () => refuse('a listener'));
}

function replace(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, configurable: false, enumerable: false, writable: false });
}

function refuseModule(specifier: string): void {
  const name = specifier.startsWith('node:') ? specifier.slice('node:'.length) : specifier;
  if (REFUSED_MODULES.has(name)) refuse(`the module ${name}`);
}

function refuse(what: string): never {
  throw Object.assign(new Error(`${what} is not for this process: it reads what strangers send`), {
    code: 'ERR_ACCESS_DENIED',
  });
}
