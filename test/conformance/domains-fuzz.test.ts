/** The domain service takes some made-up requests of each operation, the same ones each time; the soak sends many more. */
import { after, before } from 'node:test';
import { testFuzzedDomains } from './fuzz-domains.ts';

const crashes: unknown[] = [];
const onCrash = (error: unknown) => crashes.push(error);
before(() => void process.on('uncaughtException', onCrash).on('unhandledRejection', onCrash));
after(() => void process.off('uncaughtException', onCrash).off('unhandledRejection', onCrash));

await testFuzzedDomains({ requests: 250, crashes, isLong: false });
