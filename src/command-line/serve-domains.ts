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
import { readEnvironment } from '../kernel/config/read-environment.ts';
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
    start: () => domains.start(),
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
