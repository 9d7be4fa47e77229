import { type DestinationStream, type LoggerOptions, type Logger as PinoLogger, pino } from 'pino';
import { redactFields, scrubText } from './redact.ts';

export type Logger = PinoLogger;

/**
 * A logger of JSON lines, on standard output by default: `time` (ISO-8601), `level` (name), the fields, `msg`.
 * Credentials are removed by field name and by shape; see `redact.ts`.
 */
export function createLogger(
  config: { readonly logLevel: LoggerOptions['level'] },
  destination: DestinationStream = pino.destination({ dest: 1, sync: true }),
): Logger {
  const logger = pino(
    {
      level: config.logLevel ?? 'info',
      base: { pid: process.pid },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => redactFields(summarizeExchange(fields)),
      },
      // The formatters above have already made these plain.
      serializers: { err: (value) => value, req: (value) => value, res: (value) => value },
      hooks: { streamWrite: scrubText },
    },
    destination,
  );
  // Pino formats the bindings of its root alone. Children inherit from their parent, hence this override too.
  const child = logger.child;
  logger.child = function redactBindings<Level extends string = never>(
    this: PinoLogger,
    bindings: pino.Bindings,
    options?: pino.ChildLoggerOptions<Level>,
  ): PinoLogger<Level> {
    return Reflect.apply(child, this, [redactFields(bindings), options]);
  };
  return logger;
}

/** Request and reply objects of the HTTP server hold sockets, bodies and headers: a few facts of them are enough. */
function summarizeExchange(fields: Record<string, unknown>): Record<string, unknown> {
  if (!('req' in fields) && !('res' in fields)) return fields;
  const { req, res, ...others } = fields;
  return {
    ...others,
    ...(req === undefined ? {} : { req: pick(req) }),
    ...(res === undefined ? {} : { res: pick(res) }),
  };
}

function pick(exchange: unknown): Record<string, unknown> {
  if (typeof exchange !== 'object' || exchange === null) return {};
  const url = Reflect.get(exchange, 'url');
  return {
    id: Reflect.get(exchange, 'id'),
    method: Reflect.get(exchange, 'method'),
    path: typeof url === 'string' ? url.split('?', 1)[0] : undefined,
    status: Reflect.get(exchange, 'statusCode'),
  };
}
