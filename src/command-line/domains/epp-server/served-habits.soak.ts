/** Each habit of the file, over EPP and TLS, as a client of another registrar's making meets it. */
import { testServedRegistries } from '../../../../test/support/check-served-registries.ts';

await testServedRegistries('all');
