/** A service with no product in it, for tests of the HTTP kernel: a token is a name, and so is its owner. */

import type { Database } from '../../src/kernel/db/database.ts';
import { ApiError, type ErrorCatalogue } from '../../src/kernel/http/errors.ts';
import type { IdempotencyStore } from '../../src/kernel/http/idempotency.ts';
import type { Operation } from '../../src/kernel/http/operation.ts';
import { createService, type Gate, type ServiceOptions } from '../../src/kernel/http/service.ts';
import { createMetrics } from '../../src/kernel/metrics/metrics.ts';
import { openTestDatabase } from './database.ts';
import { openTestLogger } from './test-log.ts';

export interface SmallCaller {
  readonly name: string;
}

export const smallErrors = {
  unauthenticated: { status: 401, type: 'authentication_error', message: 'Who? Say it.' },
  wrong_posture: { status: 403, type: 'permission_error', message: 'Not you. Ask another.' },
  not_found: { status: 404, type: 'invalid_request_error', message: 'Gone. Look elsewhere.' },
  payload_too_large: { status: 413, type: 'invalid_request_error', message: 'Large. Send less.' },
  invalid_request: { status: 422, type: 'invalid_request_error', message: 'Wrong. Mend it.' },
  unsupported_api_version: { status: 400, type: 'invalid_request_error', message: 'Old. Send another.' },
  idempotency_key_reused: { status: 409, type: 'invalid_request_error', message: 'Reused. Take another.' },
  idempotency_in_progress: { status: 409, type: 'invalid_request_error', message: 'Busy. Wait.' },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error', message: 'Often. Wait.' },
  internal_error: { status: 500, type: 'api_error', message: 'Ours. Report it.' },
  service_overloaded: { status: 503, type: 'api_error', message: 'Busy. Wait.' },
  storage_unavailable: { status: 503, type: 'api_error', message: 'Down. Wait.' },
} as const satisfies ErrorCatalogue;

/** `closed` operations are the owner's alone. */
const smallGate: Gate<SmallCaller> = {
  async authenticate(authorization) {
    const name = /^Bearer (\w+)$/.exec(authorization ?? '')?.[1];
    if (name === undefined) throw new ApiError('unauthenticated');
    return { name };
  },
  authorize({ posture }, { name }) {
    if (posture === 'closed' && name !== 'owner') throw new ApiError('wrong_posture');
  },
  refusalsOf: ({ posture }) => (posture === 'closed' ? ['wrong_posture'] : []),
  meterKey: ({ name }) => name,
};

const forgetful: IdempotencyStore<SmallCaller> = {
  refusals: [],
  claim: async () => undefined,
  complete: async () => undefined,
};

export interface SmallService {
  readonly url: string;
  close(): Promise<void>;
}

/** What a service of these operations is made of. */
export function describeSmallService(
  db: Database,
  operations: readonly Operation<never>[],
): ServiceOptions<SmallCaller> {
  return {
    name: 'things',
    title: 'Things',
    version: '1',
    description: 'Things.',
    errors: smallErrors,
    operations,
    gate: smallGate,
    idempotency: forgetful,
    db,
    logger: openTestLogger(),
    metrics: createMetrics(),
    publicUrl: 'http://127.0.0.1',
    apiVersion: { header: 'X-Version', live: ['1', '2'] },
    corsPrefixes: ['/v1'],
    requestsPerMinute: 1_000,
    addressRequestsPerMinute: 1_000,
    bodyLimitBytes: 1_024,
    trustProxy: false,
    connections: { perAddress: 1_000, total: 1_000 },
    // A busy machine must not look like an overload to a test.
    overloadDelayMs: 60_000,
  };
}

/** Serves these operations on loopback. */
export async function startSmallService(
  operations: readonly Operation<never>[],
  options: Partial<ServiceOptions<SmallCaller>> = {},
): Promise<SmallService> {
  const { db, close } = await openTestDatabase();
  const app = await createService<SmallCaller>({ ...describeSmallService(db, operations), ...options });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    url,
    async close() {
      await app.close();
      await close();
    },
  };
}
