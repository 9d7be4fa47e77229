/** The domain registration service as a service of the process. */
import { join } from 'node:path';
import { createDomains } from '../domains/app.ts';
import {
  openDelegations,
  openNotices,
  openPayments,
  openPublisher,
  openRegistry,
} from '../domains/boot/open-dependencies.ts';
import { createAliasTargets } from '../domains/dns/alias/index.ts';
import { openMailer } from '../domains/mail/index.ts';
import { BASE_PATH } from '../domains/operation.ts';
import { operateDomains } from '../domains/operator/index.ts';
import { systemClock } from '../kernel/clock/clock.ts';
import type { DomainsConfig } from '../kernel/config/config.ts';
import { readEnvironment } from '../kernel/config/read-environment.ts';
import { CommandError } from './command-error.ts';
import { explainListenError } from './hold-port.ts';
import type { ServedService, ServerDependencies } from './served-service.ts';
import { renderDomainsWelcome } from './welcome.ts';

export async function serveDomains(parts: ServerDependencies): Promise<ServedService> {
  const { config, publicUrl } = parts;
  const dependencies = { ...parts, clock: systemClock };
  const { notices, rdap, ...opened } = await openRegistry(config.domains, {
    ...dependencies,
    environment: readEnvironment(),
  });
  const { prices, registry } = opened;
  const publisher = await openPublisher(config.domains, dependencies);
  const domains = await createDomains({
    ...dependencies,
    registry,
    prices,
    noticeService: await openNotices(notices, parts.outbound),
    ...(rdap === undefined ? {} : { rdap }),
    authCodeDays: opened.authCodeDays,
    publisher,
    delegations: openDelegations(registry, config.dnsServers),
    aliasTargets: createAliasTargets({
      resolvers: config.dnsServers,
      allowsPrivate: config.domains.aliasPrivateAddresses === 'allow',
    }),
    keyLifetimeMs: config.domains.dnssecKeyDays === undefined ? undefined : config.domains.dnssecKeyDays * 86_400_000,
    payments: await openPayments(config.domains, `${publicUrl}${BASE_PATH}/docs`, parts.logger),
    mailer: openMailer({ ...config.domains, folder: join(config.dataDir, 'outbox') }),
    nameservers: config.domains.nameservers,
    seller: config.domains.seller,
    // Play money never buys a real name: what a simulated registry's time has left ends with the start, see src/domains/play-money.
    demoCreditCents: registry.kind === 'simulated' ? config.domains.demoCreditCents : 0,
  });
  return {
    app: domains.app,
    operated: operateDomains({ ...dependencies, prices, registry, registries: registry.members }),
    start: () => domains.start().catch((error: unknown) => explainStart(error, config.domains)),
    drain: (timeoutMs) => domains.drain(timeoutMs),
    stop: () => domains.stop(),
    welcome: (localUrl) =>
      renderDomainsWelcome({
        baseUrl: `${publicUrl}${BASE_PATH}`,
        localBaseUrl: `${localUrl}${BASE_PATH}`,
        registry: registry.kind,
        dns: 'port' in publisher ? `${config.domains.dnsHost} port ${publisher.port}` : 'PowerDNS',
      }),
  };
}

/** Of what starts with the service the nameserver alone listens. */
function explainStart(error: unknown, { dnsHost, dnsPort }: Pick<DomainsConfig, 'dnsHost' | 'dnsPort'>): never {
  const isListening =
    error instanceof Error && 'syscall' in error && ['listen', 'bind'].includes(String(error.syscall));
  if (!isListening) throw error;
  const settings = ['IRONCRAFT_DOMAINS_DNS_PORT', 'IRONCRAFT_DOMAINS_DNS_HOST'] as const;
  const { message } = explainListenError(error, dnsHost, dnsPort, ...settings);
  throw new CommandError(`The built-in nameserver cannot listen: ${message}`, { cause: error });
}
