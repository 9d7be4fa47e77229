import type { FastifyInstance } from 'fastify';
import type { Config } from '../kernel/config/config.ts';
import type { Database } from '../kernel/db/database.ts';
import type { SharedBoss } from '../kernel/jobs/shared-boss.ts';
import type { Logger } from '../kernel/log/log.ts';
import type { Metrics } from '../kernel/metrics/metrics.ts';
import type { OperatedService } from '../kernel/operator/index.ts';
import type { Outbound } from '../kernel/outbound/outbound.ts';
import type { Vault } from '../kernel/vault/vault.ts';

/** What every service of the process is made of. */
export interface ServerDependencies {
  readonly config: Config;
  readonly logger: Logger;
  readonly db: Database;
  readonly outbound: Outbound;
  readonly vault: Vault;
  readonly boss: SharedBoss;
  /** The service's own. */
  readonly metrics: Metrics;
  /** Where clients reach the service. */
  readonly publicUrl: string;
}

/** A service as the process runs it. */
export interface ServedService {
  readonly app: FastifyInstance;
  /** What it cannot work without beside the database, by name; each rejects while it is missing. */
  readonly checks?: Readonly<Record<string, () => Promise<void>>>;
  /** Begins the work that no request asks for. Called before the port is open. */
  start(): Promise<void>;
  /** Finishes or hands on what is in flight, within the time. */
  drain(timeoutMs: number): Promise<void>;
  stop(): Promise<void>;
  /** What an operator can ask of it, beside its interface. */
  readonly operated: OperatedService;
  /** What people are told once it listens; `localUrl` is what a shell on this machine reaches. */
  welcome(localUrl: string): string;
}
