/** The operator's verbs of the domain service. */
import type { DomainVerbs, KnownRegistry } from '../../domains/operator/index.ts';
import type { PriceBook } from '../../domains/prices/price-book.ts';
import type { Registry } from '../../domains/registry/registry.ts';
import { systemClock } from '../../kernel/clock/clock.ts';
import { readEnvironment } from '../../kernel/config/read-environment.ts';
import { createLogger } from '../../kernel/log/log.ts';
import type { AnswerOf, RequestOf } from '../../kernel/operator/index.ts';
import { runOperatorVerb } from '../ask-operator.ts';
import type { Store } from '../open-store.ts';

/** Carries out the verb. Throws CommandError. */
export async function ask<Verb extends keyof DomainVerbs>(
  verb: Verb,
  request: RequestOf<DomainVerbs, Verb>,
): Promise<AnswerOf<DomainVerbs, Verb>> {
  // Loaded by the verbs that need it: the other verbs start without the domain service.
  const { createOperator, domainVerbs } = await import('../../domains/operator/index.ts');
  let opened: Registry | undefined;
  try {
    return await runOperatorVerb(domainVerbs, verb, request, async (store) => {
      const registry = {
        async info(name: string) {
          opened ??= await openRegistries(store);
          return opened.info(name);
        },
      };
      return createOperator({ db: store.db, clock: systemClock, registry, ...(await configured(store)) });
    });
  } finally {
    await opened?.stop();
  }
}

/** With sessions of its own, for the verbs that ask a registry. */
async function openRegistries({ config, db }: Store): Promise<Registry> {
  const { openRegistry } = await import('../../domains/boot/open-dependencies.ts');
  const parts = {
    db,
    clock: systemClock,
    logger: createLogger({ logLevel: 'silent' }),
    environment: readEnvironment(),
  };
  const { registry } = await openRegistry(config.domains, parts);
  await registry.start();
  return registry;
}

/** What the file of registries says, where there is one. */
async function configured({
  config,
}: Store): Promise<{ readonly registries: readonly KnownRegistry[]; readonly prices?: PriceBook }> {
  const { configFile, epp } = config.domains;
  const one = [{ id: epp === undefined ? 'simulated' : 'epp', zones: undefined }];
  if (configFile === undefined) return { registries: one };
  const { readSetup } = await import('../../domains/boot/setup/read-setup.ts');
  const { createPriceBook } = await import('../../domains/prices/price-book.ts');
  const { prices, registries } = await readSetup(configFile, readEnvironment());
  return { registries: registries.length === 0 ? one : registries, prices: createPriceBook(prices) };
}
