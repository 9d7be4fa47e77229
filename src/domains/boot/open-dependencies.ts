/** What the configuration chooses: where names are registered, what answers DNS, who takes card payments. */
import { readFile } from 'node:fs/promises';
import type { Clock } from '../../kernel/clock/clock.ts';
import type { DnsGuardConfig, DomainsConfig } from '../../kernel/config/config.ts';
import type { Environment } from '../../kernel/config/read-environment.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Metrics } from '../../kernel/metrics/metrics.ts';
import type { Outbound } from '../../kernel/outbound/outbound.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import { createParentServers, createRegistryDelegations, type Delegations } from '../dns/delegation/index.ts';
import {
  type CookieSecrets,
  createEmbeddedPublisher,
  derivedSecrets,
  type EmbeddedPublisher,
  givenSecrets,
  readNetwork,
} from '../dns/embedded/index.ts';
import type { ZonePublisher } from '../dns/publisher.ts';
import { createPriceBook, type PriceBook, standardPriceBook } from '../prices/price-book.ts';
import type { NoticeService } from '../registry/claims-notices.ts';
import type { Registry } from '../registry/registry.ts';
import { createRoutingRegistry } from '../registry/routing-registry.ts';
import { createSimulatedRegistry, type PriceList } from '../registry/simulated/index.ts';
import type { RdapIdentity } from '../resources/rdap/registrar-identity.ts';
import { openPayments as openCardPayments } from '../wallet/index.ts';
import type { Payments } from '../wallet/payments/payments.ts';
import type { DomainsSetup, NoticeServiceSetup } from './setup/read-setup.ts';
import type { RegistryFileOptions } from './setup/registry-options.ts';

interface Dependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What the simulated registry asks for restoring a name. */
const RESTORE_CENTS = 7_900;
/** What it asks for another holder, where that is a trade. */
const TRADE_CENTS = 800;
/** A registry asks less than its registrars do. */
const WHOLESALE_SHARE = 0.8;

/** What a TLD costs that has no price here. */
const OTHER_FEES = {
  createCents: 1_000,
  renewCents: 1_000,
  transferCents: 1_000,
  restoreCents: RESTORE_CENTS,
  tradeCents: TRADE_CENTS,
};

/** The prices of a simulated registry that serves what the service sells, or these TLDs. */
export function simulatedFees(prices: PriceBook, clock: Clock, tlds?: readonly string[]): PriceList {
  const wholesale = (cents: number) => Math.round(cents * WHOLESALE_SHARE);
  return (zone) => {
    const terms = prices.find(zone, clock.now());
    if (tlds?.includes(zone) === false) return undefined;
    if (terms === undefined) return tlds === undefined ? undefined : OTHER_FEES;
    return {
      createCents: wholesale(terms.registerCents),
      renewCents: wholesale(terms.renewCents),
      transferCents: wholesale(terms.transferCents),
      restoreCents: RESTORE_CENTS,
      tradeCents: terms.tradeCents > 0 ? wholesale(terms.tradeCents) : TRADE_CENTS,
      transferYears: terms.transferYears,
    };
  };
}

/** Loaded where there is a file: it needs the whole of TypeBox. */
async function readFileOf(path: string, environment: Environment): Promise<DomainsSetup> {
  const { readSetup } = await import('./setup/read-setup.ts');
  return readSetup(path, environment);
}

export interface OpenedRegistry {
  readonly registry: Registry;
  readonly prices: PriceBook;
  /** Present: RDAP is answered, in this name. */
  readonly rdap?: RdapIdentity;
  /** How long auth codes work, where the file says so. */
  readonly authCodeDays?: number | undefined;
  /** Where notices of trademark claims are, where the file says so; see `openNotices`. */
  readonly notices?: NoticeServiceSetup | undefined;
}

/** Where names are registered, and what is sold there. Throws `ConfigError`, and what reading a certificate authority's file throws. */
export async function openRegistry(
  config: DomainsConfig,
  deps: Dependencies & { readonly environment: Environment },
): Promise<OpenedRegistry> {
  const { autoRenewGraceDays, configFile, epp } = config;
  const setup = configFile === undefined ? undefined : await readFileOf(configFile, deps.environment);
  const prices = setup === undefined ? standardPriceBook(epp?.tlds) : createPriceBook(setup.prices);
  const rdap = setup?.rdap === undefined ? {} : { rdap: setup.rdap };
  const own = { prices, authCodeDays: setup?.authCodeDays, notices: setup?.noticeService, ...rdap };
  const [first, ...others] = setup?.registries ?? [];
  if (first !== undefined) {
    const { createEppRegistry } = await import('../registry/epp/index.ts');
    const open = (options: RegistryFileOptions) => createEppRegistry({ ...options, ...deps });
    return { registry: createRoutingRegistry([open(first), ...others.map(open)]), ...own };
  }
  if (epp === undefined) {
    const fees = simulatedFees(prices, deps.clock);
    const options = { prices: fees, faults: 'stored', autoRenewGraceDays } as const;
    return { registry: createSimulatedRegistry({ ...deps, options }), ...own };
  }
  const { caFile, tlds: _, ...endpoint } = epp;
  // Loaded where it is used: the simulated registry needs neither XML nor TLS.
  const { createEppRegistry } = await import('../registry/epp/index.ts');
  const registry = createEppRegistry({
    ...endpoint,
    autoRenewGraceDays,
    locksNewNames: true,
    fees: {},
    clock: deps.clock,
    logger: deps.logger,
    ...(caFile === undefined ? {} : { tls: { ca: await readFile(caFile) } }),
  });
  return { registry, ...own };
}

/** Loaded where it is used: it needs XML. */
export async function openNotices(
  setup: NoticeServiceSetup | undefined,
  outbound: Pick<Outbound, 'fetch'>,
): Promise<NoticeService | undefined> {
  if (setup === undefined) return undefined;
  const { openNoticeService } = await import('../registry/notice-service/open-notice-service.ts');
  return openNoticeService({ ...setup, outbound });
}

/** Real names are delegated in the DNS of the world, those of the simulated registry in none. */
export function openDelegations(registry: Registry, resolvers: readonly string[]): Delegations {
  return registry.kind === 'simulated' ? createRegistryDelegations(registry) : createParentServers({ resolvers });
}

export async function openPublisher(
  config: DomainsConfig,
  { db, clock, logger, metrics, vault }: Dependencies & { readonly metrics: Metrics; readonly vault: Vault },
): Promise<ZonePublisher | EmbeddedPublisher> {
  const { nameservers, powerDns, dnsHost: host, dnsPort: port, dnsGuard, dnsSecondaries: secondaries } = config;
  if (powerDns !== undefined) {
    // Loaded where it is used: three hundred modules that the nameserver of this process does without.
    const { createPowerDnsPublisher } = await import('../dns/powerdns/power-dns-publisher.ts');
    return createPowerDnsPublisher({ ...powerDns, logger });
  }
  return createEmbeddedPublisher({
    ...{ db, nameservers, host, port, clock, logger, metrics, secondaries },
    responsesPerSecond: dnsGuard.rate,
    sameResponsesPerSecond: dnsGuard.sameRate,
    slip: dnsGuard.slip,
    exempt: dnsGuard.exempt.map(readNetwork).filter((network) => network !== undefined),
    cookieSecrets: openCookieSecrets(dnsGuard, vault),
  });
}

function openCookieSecrets({ cookieSecrets }: DnsGuardConfig, vault: Vault): CookieSecrets {
  const [first, ...others] = cookieSecrets.map((secret) => Buffer.from(secret, 'hex'));
  return first === undefined ? derivedSecrets(vault.derive) : givenSecrets([first, ...others]);
}

/** `returnUrl`: where the checkout page of a top-up leads afterwards. */
export function openPayments(config: DomainsConfig, returnUrl: string, logger: Logger): Promise<Payments> {
  const { stripeKey: secretKey, stripeUrl: apiUrl, stripeWebhookSecret: webhookSecret } = config;
  return openCardPayments({ secretKey, apiUrl, webhookSecret, returnUrl, logger });
}
