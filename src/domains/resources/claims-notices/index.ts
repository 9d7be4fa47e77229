export { acceptedClaimsNotice, givenNotice } from './schema.ts';
