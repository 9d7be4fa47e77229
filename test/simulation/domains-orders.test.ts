import { orderScenarios } from './domains-scenarios.ts';
import { testScenarios } from './run-scenario.ts';

testScenarios(orderScenarios);
