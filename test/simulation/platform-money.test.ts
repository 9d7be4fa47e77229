import { moneyScenarios, testScenarios } from './platform-scenarios.ts';

testScenarios(moneyScenarios);
