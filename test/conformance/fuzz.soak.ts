/**
 * The platform takes thousands of made-up requests. Others, and more of them:
 *
 *     IRONCRAFT_TEST_SEED=7 IRONCRAFT_FUZZ_REQUESTS=100000 npm run test:all test/conformance/fuzz.soak.ts
 */
import { after, before } from 'node:test';
import { testFuzzedPlatform } from './fuzz-platform.ts';

const crashes: unknown[] = [];
const onCrash = (error: unknown) => crashes.push(error);
before(() => void process.on('uncaughtException', onCrash).on('unhandledRejection', onCrash));
after(() => void process.off('uncaughtException', onCrash).off('unhandledRejection', onCrash));

await testFuzzedPlatform({ requests: Number(process.env.IRONCRAFT_FUZZ_REQUESTS ?? 20_000), crashes, isLong: true });
