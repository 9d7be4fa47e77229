/** What the configuration chooses: where names are registered, what answers DNS, who takes card payments. */
import { readFile } from 'node:fs/promises';
import type { Clock } from '../../kernel/clock/clock.ts';
import type { DomainsConfig } from '../../kernel/config/config.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/log.ts';
import { createParentServers, createRegistryDelegations, type Delegations } from '../dns/delegation/index.ts';
import { createEmbeddedPublisher, type EmbeddedPublisher } from '../dns/embedded/index.ts';
import type { ZonePublisher } from '../dns/publisher.ts';
import { tldTerms } from '../prices/price.ts';
import type { Registry } from '../registry/registry.ts';
import { createSimulatedRegistry, type Fees } from '../registry/simulated/index.ts';
import { openPayments as openCardPayments } from '../wallet/index.ts';
import type { Payments } from '../wallet/payments/payments.ts';

interface Dependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What the simulated registry asks for restoring a name. */
const RESTORE_CENTS = 7_900;
/** A registry asks less than its registrars do. */
const WHOLESALE_SHARE = 0.8;

/** The prices of the simulated registry: it serves the TLDs that the service offers. */
export function simulatedFees(zone: string): Fees | undefined {
  const terms = tldTerms(zone);
  if (terms === undefined) return undefined;
  const wholesale = (cents: number) => Math.round(cents * WHOLESALE_SHARE);
  return {
    createCents: wholesale(terms.registerCents),
    renewCents: wholesale(terms.renewCents),
    transferCents: wholesale(terms.transferCents),
    restoreCents: RESTORE_CENTS,
    transferYears: terms.transferYears,
  };
}

/** Throws what reading the file of the certificate authority throws. */
export async function openRegistry(config: DomainsConfig, deps: Dependencies): Promise<Registry> {
  const { autoRenewGraceDays, epp } = config;
  if (epp === undefined) {
    const options = { prices: simulatedFees, faults: 'stored', autoRenewGraceDays } as const;
    return createSimulatedRegistry({ ...deps, options });
  }
  const { caFile, ...endpoint } = epp;
  // Loaded where it is used: the simulated registry needs neither XML nor TLS.
  const { createEppRegistry } = await import('../registry/epp/index.ts');
  return createEppRegistry({
    ...endpoint,
    autoRenewGraceDays,
    clock: deps.clock,
    logger: deps.logger,
    ...(caFile === undefined ? {} : { tls: { ca: await readFile(caFile) } }),
  });
}

/** Real names are delegated in the DNS of the world, those of the simulated registry in none. */
export function openDelegations(registry: Registry, resolvers: readonly string[]): Delegations {
  return registry.kind === 'simulated' ? createRegistryDelegations(registry) : createParentServers({ resolvers });
}

export async function openPublisher(
  config: DomainsConfig,
  { db, clock, logger }: Dependencies,
): Promise<ZonePublisher | EmbeddedPublisher> {
  const { nameservers, powerDns, dnsHost: host, dnsPort: port } = config;
  if (powerDns !== undefined) {
    // Loaded where it is used: three hundred modules that the nameserver of this process does without.
    const { createPowerDnsPublisher } = await import('../dns/powerdns/power-dns-publisher.ts');
    return createPowerDnsPublisher({ ...powerDns, logger });
  }
  return createEmbeddedPublisher({ db, nameservers, host, port, clock, logger });
}

/** `returnUrl`: where the checkout page of a top-up leads afterwards. */
export function openPayments(config: DomainsConfig, returnUrl: string, logger: Logger): Promise<Payments> {
  const { stripeKey: secretKey, stripeUrl: apiUrl } = config;
  return openCardPayments({ secretKey, apiUrl, returnUrl, logger });
}
