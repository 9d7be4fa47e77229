/** TLDs that are being launched: what is sold of them, and how the registry behaves. */
import { createPriceBook, type PriceBook, retailOf } from '../../src/domains/prices/price-book.ts';
import type { LaunchTerms } from '../../src/domains/prices/tlds.ts';
import type { LaunchPhase, ServedLaunch } from '../../src/domains/registry/epp/index.ts';
import type { LaunchPhaseName } from '../../src/domains/registry/registry.ts';
import { termsOf } from './prices.ts';

export interface TestLaunch {
  readonly phase: LaunchPhaseName;
  /** Names are applied for, at this price beside that of the registration. */
  readonly applicationCents?: number;
  /** What the registry asks for it. */
  readonly costCents?: number;
  readonly refundsLost?: boolean;
  readonly requires?: LaunchPhase['requires'];
  readonly until?: Date;
  readonly validator?: string;
  /** Of names. */
  readonly codes?: ReadonlyMap<string, string>;
}

/** The program's own price of `com`, while it is being launched so. */
export function launchedCom(launch: TestLaunch): {
  readonly prices: PriceBook;
  readonly launchPhaseOf: (zone: string) => LaunchPhase | undefined;
  readonly launches: readonly ServedLaunch[];
} {
  const { applicationCents, codes, costCents = 0, phase, refundsLost = false, requires, until, validator } = launch;
  const terms = termsOf('com');
  const isApplication = applicationCents !== undefined;
  const sold: LaunchTerms = { phase, isApplication, refundsLost };
  const period = {
    from: undefined,
    retail: { ...retailOf(terms), applicationCents },
    margin: { percent: 20, cents: 0 },
    costs: { currency: 'EUR', create: 1_190, renew: 1_190, transfer: 1_190, application: costCents },
  };
  const marks = requires === 'claims_notice' || requires === 'nothing' ? undefined : requires;
  const launched = { ...phase, applications: isApplication, requires, until, validator };
  return {
    prices: createPriceBook({
      tlds: [{ terms, launch: { ...sold, until }, periods: [period], promotions: [] }],
      rates: new Map(),
      reserved: new Set(),
    }),
    launchPhaseOf: (zone) => (zone === 'com' ? launched : undefined),
    launches: [
      {
        zones: ['com'],
        phase,
        applications: isApplication,
        marks,
        validator,
        codes,
        applicationCents: costCents,
        refundsLost,
      },
    ],
  };
}
