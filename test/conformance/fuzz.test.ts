/** The platform takes some made-up requests of each operation, the same ones each time; the soak sends many more. */
import { after, before } from 'node:test';
import { testFuzzedPlatform } from './fuzz-platform.ts';

const crashes: unknown[] = [];
const onCrash = (error: unknown) => crashes.push(error);
before(() => void process.on('uncaughtException', onCrash).on('unhandledRejection', onCrash));
after(() => void process.off('uncaughtException', onCrash).off('unhandledRejection', onCrash));

await testFuzzedPlatform({ requests: 260, crashes, isLong: false });
