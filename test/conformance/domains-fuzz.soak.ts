/**
 * The domain service takes thousands of made-up requests. Others, and more of them:
 *
 *     IRONCRAFT_TEST_SEED=7 IRONCRAFT_FUZZ_REQUESTS=100000 npm run test:all test/conformance/domains-fuzz.soak.ts
 */
import { after, before } from 'node:test';
import { testFuzzedDomains } from './fuzz-domains.ts';

const crashes: unknown[] = [];
const onCrash = (error: unknown) => crashes.push(error);
before(() => void process.on('uncaughtException', onCrash).on('unhandledRejection', onCrash));
after(() => void process.off('uncaughtException', onCrash).off('unhandledRejection', onCrash));

await testFuzzedDomains({ requests: Number(process.env.IRONCRAFT_FUZZ_REQUESTS ?? 6_000), crashes, isLong: true });
