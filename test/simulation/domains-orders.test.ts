import { test } from 'node:test';
import { domainsScenarios } from './domains-scenarios.ts';

for (const [promise, run] of Object.entries(domainsScenarios)) {
  test(`${promise} whatever effect a crash hits`, async (t) => {
    const { effects, interruptions } = await run();
    t.diagnostic(`${effects.length} effects, ${interruptions} crashes and stalls`);
    if (process.env.SHOW)
      console.log(
        effects
          .map(
            ({ label, isInTransaction, isChange }, n) =>
              `${n + 1} ${isInTransaction ? '  ' : ''}${label}${isChange ? ' *' : ''}`,
          )
          .join('\n'),
      );
  });
}
